"""The benchmark programme of nc3z; `bench/run.py` is its command."""
