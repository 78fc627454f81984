//go:build never

package turn

import "example.com/house/internal/safego"

func stage() {
	safego.Go("stage", func() {}) // want goroutines
}

func isStory(plugin string) bool { return plugin == "narrator" } // want no-plugin-names
