package main

import (
	"os"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/gateway/llm"
)

func modelFlags(c *cobra.Command) {
	c.Flags().String("model", "offline", "who tells the story: offline, openai:MODEL (any OpenAI-compatible server), scripted:FILE, replay:FILE")
	c.Flags().String("fast-model", "", "who does the small work, such as suggestions (default: the same)")
	c.Flags().String("model-url", "", "base address of an OpenAI-compatible server, for example http://127.0.0.1:11434/v1")
	c.Flags().String("model-price", "", "what the model's tokens cost per million, for the trace: input=2.5,output=10[,cached-input=1.25]; without it no cost is told")
	c.Flags().String("fast-model-price", "", "the same for --fast-model")
	c.Flags().Int("model-context", 0, "how many tokens the model takes, request and answer together; 0: 262144, or no bound for offline")
	c.Flags().Int("fast-model-context", 0, "the same for --fast-model")
	c.Flags().Bool("model-images", false, "the model sees pictures; else they are left out of what it reads")
	c.Flags().Bool("fast-model-images", false, "the same for --fast-model")
	c.Flags().String("record", "", "append every model call to this file, for --model replay:FILE; it holds what players and models write")
	c.Flags().Duration("pace", 25*time.Millisecond, "how long the offline storyteller waits between pieces of text")
}

// modelConfig reads the slots from the flags. The key comes from the environment only, so that it is in no process list:
// COVEL_MODEL_KEY; OPENAI_API_KEY is sent to that provider's own server only.
func modelConfig(c *cobra.Command) (llm.Config, error) {
	url, _ := c.Flags().GetString("model-url")
	key := os.Getenv("COVEL_MODEL_KEY")
	if key == "" && url == "" {
		key = os.Getenv("OPENAI_API_KEY")
	}
	pace, _ := c.Flags().GetDuration("pace")
	record, _ := c.Flags().GetString("record")
	cfg := llm.Config{Slots: map[string]llm.Slot{}, Record: record}
	for name, flag := range map[string]string{llm.StorySlot: "model", "fast": "fast-model"} {
		text, _ := c.Flags().GetString(flag)
		if text == "" {
			continue
		}
		slot, err := llm.ParseModel(text)
		if err != nil {
			return cfg, err
		}
		price, _ := c.Flags().GetString(flag + "-price")
		if slot.Price, err = llm.ParsePrice(price); err != nil {
			return cfg, errors.WithMessagef(err, "--%s-price", flag)
		}
		if slot.ContextWindow, _ = c.Flags().GetInt(flag + "-context"); slot.ContextWindow < 0 {
			return cfg, errors.Errorf("--%s-context: %d is less than 0", flag, slot.ContextWindow)
		}
		slot.Images, _ = c.Flags().GetBool(flag + "-images")
		slot.BaseURL, slot.Key, slot.Pace = url, llm.NewSecret(key), pace
		cfg.Slots[name] = slot
	}
	return cfg, nil
}

// keysOf are the keys of all models, for those who must not write them down.
func keysOf(cfg llm.Config) []trace.Secret {
	var out []trace.Secret
	for _, slot := range cfg.Slots {
		if slot.Key.IsSet() {
			out = append(out, slot.Key)
		}
	}
	return out
}
