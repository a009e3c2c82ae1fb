"""What all local models share, whichever engine runs them: files, identity, prompts, tokens, request plans.

- `model_search`, `model_files`, `adapter_files`, `model_identity`: a model's files and the hash that names it
- `hub_files`, `hub_selection`, `hub_problems`: models on the Hugging Face hub
- `local_model`: what is known from small files and the tokenizer, before weights are read
- `chat_prompts`, `chat_template`, `tokenization`, `context_length`: from a prompt to token ids, in one place
- `scored_text`, `rolling_windows`, `scoring_plans`, `generation_plans`, `request_sizes`: plans for requests
- `media_bytes`: the bytes of images and sounds, read when they are needed
"""
