"""Play in the browser: a small local server.

`quincunx_env.play.web.tables` keeps the games, templates write them as HTML with what `quincunx_env.play.web.pages`
derives, and `quincunx_env.play.web.server` answers requests. Rules, hints and scores come from
`quincunx_env.play.session`, as in the console. The script in the browser knows nothing of the game.
"""
