"""Rows in the partitions of a Dask collection, visited where Dask has them."""
