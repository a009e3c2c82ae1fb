"""Chat templates with the conventions of well-known thinking models, in as few lines as possible."""

_TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
SWITCHED = _TURNS + (
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Like Qwen3's: the model opens its thought itself, and an empty thought switches it off."""
ALWAYS_OPEN = _TURNS + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
"""Like DeepSeek-R1's: the prompt opens the thought, and nothing switches it off."""
CHANNELS = (
    "{% if not reasoning_effort %}{% set reasoning_effort = 'medium' %}{% endif %}"
    "<|start|>system<|message|>Reasoning: {{ reasoning_effort }}<|end|>"
    "{% for m in messages %}<|start|>{{ m.role }}"
    "{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
"""Like gpt-oss's: thought and answer are messages on different channels, with levels of effort."""
