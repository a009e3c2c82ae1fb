"""One model in many processes: a `Backend` that distributes requests to workers, local or on a cluster.

- `pool`: the `Backend`; `dispatch`, `lookahead`: which worker gets which requests
- `worker_group`: the port to workers; `messages`: what is sent
- `model_check`: checks that every worker has the same model
- `worker_process`, `worker_loop`, `gpus`: workers on this machine
- `ray_workers`, `ray_cluster`, `node_proxy`, `resource_shares`: workers on a Ray cluster
"""
