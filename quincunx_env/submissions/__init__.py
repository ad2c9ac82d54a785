"""Results handed in for publication: verification, seasons on sealed deals, the leaderboard.

- `quincunx_env.submissions.verification`: replay the games of a file, and compare its figures with them.
- `quincunx_env.submissions.reruns`: ask a policy again in games under its name.
- `quincunx_env.submissions.seasons`: deals that are unknown when policies are handed in.
- `quincunx_env.submissions.leaderboard`: tables and a page of verified files.

``quincunx verify --help`` and the like offer them on the command line.
"""
