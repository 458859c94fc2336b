import sys

from pyspark import cloudpickle

from tests.e2e import jobs

cloudpickle.register_pickle_by_value(sys.modules[jobs.__name__])
