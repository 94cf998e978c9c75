"""Rankings of methods by several criteria: arrays in, frozen values out; none prints or touches a file."""
