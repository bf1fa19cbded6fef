"""Native readers of pcb against each format's own Python reader; `../python_readers.py` is the program."""
