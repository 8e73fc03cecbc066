"""What `multitask.py` and `fusion.py` share: data, stacked networks, contenders, training, tables.

On the machine that trains, nothing but torch, numpy and `evenhand.impartial` is needed.
"""
