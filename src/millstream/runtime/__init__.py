"""The body: slots on Spark, transport, blocks, clocks and threads."""
