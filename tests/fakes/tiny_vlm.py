"""Models that see or hear, of a few layers with random weights, written to a folder with their processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

IMAGE = "<image>"
AUDIO = "<|AUDIO|>"
_AUDIO_BEGIN, _AUDIO_END = "<|audio_bos|>", "<|audio_eos|>"
TEXT = [
    "What is the color of the shape? what shape is in the image? is there a red circle in the image?",
    "does the image contain a triangle? yes no blue green teal black gray brown yellow rectangle",
    "Answer in one word. user assistant system 0 1 2 3 4 5 6 7 8 9",
]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% for part in m.content %}{% if part.type == 'image' %}{{ '" + IMAGE + "' }}"
    "{% elif part.type == 'audio' %}{{ '" + _AUDIO_BEGIN + AUDIO + _AUDIO_END + "' }}"
    "{% elif part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""As such models' own templates are: content that is a plain text, and no list of parts, gets lost."""


def write_tiny_llava(folder: Path) -> Path:
    """Write a Llava of two layers that reads an image of 16x16 pixels as 16 tokens."""
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = _tokenizer()
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    text = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.4,
        **ends,
    )  # fmt: skip
    vision = CLIPVisionConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16,
        patch_size=4, projection_dim=32, initializer_range=0.4,
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        vision_feature_layer=-1,
        **ends,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = LlavaForConditionalGeneration(config)
        _widen(model)
    images = CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    processor = LlavaProcessor(
        images,
        tokenizer,
        patch_size=4,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    return _written(model, processor, folder)


def write_tiny_qwen2_audio(folder: Path) -> Path:
    """Write a Qwen2-Audio of two layers, which hears up to two seconds."""
    import torch
    from transformers import (
        Qwen2AudioConfig,
        Qwen2AudioEncoderConfig,
        Qwen2AudioForConditionalGeneration,
        Qwen2AudioProcessor,
        Qwen2Config,
        WhisperFeatureExtractor,
    )

    tokenizer = _tokenizer()
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    text = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.4,
        **ends,
    )  # fmt: skip
    audio = Qwen2AudioEncoderConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=16,
        max_source_positions=100, initializer_range=0.4,
    )  # fmt: skip
    config = Qwen2AudioConfig(
        audio_config=audio,
        text_config=text,
        audio_token_index=tokenizer.convert_tokens_to_ids(AUDIO),
        **ends,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = Qwen2AudioForConditionalGeneration(config)
        _widen(model)
    sounds = WhisperFeatureExtractor(feature_size=16, chunk_length=2)
    processor = Qwen2AudioProcessor(sounds, tokenizer, chat_template=TEMPLATE)
    return _written(model, processor, folder)


def _widen(model: Any) -> None:
    """Let the images matter: what a random tower sees is too faint beside words."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "multi_modal_projector" in name and weight.dim() > 1:
                weight.mul_(20)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", IMAGE, AUDIO, _AUDIO_BEGIN, _AUDIO_END]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        TEXT * 3,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        additional_special_tokens=special[2:],
    )


def _written(model: Any, processor: Any, folder: Path) -> Path:
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
