"""vLLM's offline engine: `vllm:MODEL`.

- `backend`: the `Backend`; `arguments`: its model arguments
- `engine`: the only file that imports vllm; `outputs`: its outputs; `log_file`: its log
- `token_engine`: what any engine with its own prefix cache is asked, in tokens
- `prefill_jobs`, `generation_jobs`, `engine_queue`: requests as jobs, and their queue
"""
