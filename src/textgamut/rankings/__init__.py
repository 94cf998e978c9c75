"""Rankings of methods by several criteria: functions of arrays that return frozen values and do no I/O."""
