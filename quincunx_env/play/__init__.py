"""Play against agents (``python -m quincunx_env.play``): `session` has the logic, the others are user interfaces."""
