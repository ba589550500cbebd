"""Whether what is reported of chosen features is true: on noise, in designs and on real sets."""
