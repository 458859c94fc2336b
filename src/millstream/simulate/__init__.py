"""The same coordinator and local schedulers in virtual time, on hundreds of machines, with faults."""
