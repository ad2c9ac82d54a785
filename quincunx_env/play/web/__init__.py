"""Play in the browser: a small local server.

`quincunx_env.play.web.tables` keeps the games, `quincunx_env.play.web.pages` writes them as HTML, and
`quincunx_env.play.web.server` answers requests. Rules, hints and pictures come from the modules that the terminal uses,
too; the script in the browser knows nothing of the game.
"""
