"""Play against agents (``quincunx play``). `session` has the logic, the others are user interfaces."""
