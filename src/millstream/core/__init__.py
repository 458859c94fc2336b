"""The brain: pure state machines, events in and effects out. No socket, clock, thread or Spark."""
