"""The tutorial: flights from New York in 2013, loaded, checked and joined on Spark."""
