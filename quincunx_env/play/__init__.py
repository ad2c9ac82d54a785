"""Play against agents: `session` knows how, the rest shows it. ``python -m quincunx_env.play`` begins."""
