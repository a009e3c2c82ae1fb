"""Shared by all local models, whichever engine runs them: files, identity, prompts, tokens, request plans.

- `model_search`, `model_files`, `adapter_files`: a model's files and the hash that identifies them
- `hub_files`, `hub_selection`, `hub_problems`: models on the Hugging Face hub
- `local_model`: card, identity and request plans from small files and the tokenizer, before weights are read
- `chat_prompts`, `chat_template`, `tokenization`, `context_length`: from a prompt to token ids, in one place
- `thoughts`: how a template asks for thoughts, and where the answer begins
- `rolling_windows`, `scoring_plans`, `generation_plans`, `request_sizes`: plans for requests
- `media_bytes`: the bytes of images and audio, read when they are needed
"""
