// Package feed is what the stores share: sequences that are read page by page, and the bell that tells those who wait at
// the end of one that there is more.
package feed

import "sync"

// All is the key of those who wait for an event of any stream. No stream has this name.
const All = ""

// Hub wakes those who wait for appends. The zero value is ready. A ring is never lost: one that comes while the listener
// is reading is found by its next wait. Many rings in a row are one.
type Hub struct {
	mu        sync.Mutex
	listeners map[string]map[*Listener]struct{}
}

// Listener waits for the appends of one stream, or of All.
type Listener struct {
	hub *Hub
	key string
	// Rung holds one token when something was appended since it was last taken. It is made by the one who listens, so
	// that a listener inside a synctest bubble has a channel of that bubble.
	Rung chan struct{}
}

// Listen registers a listener. It must be stopped.
func (h *Hub) Listen(key string) *Listener {
	l := &Listener{hub: h, key: key, Rung: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[string]map[*Listener]struct{}{}
	}
	if h.listeners[key] == nil {
		h.listeners[key] = map[*Listener]struct{}{}
	}
	h.listeners[key][l] = struct{}{}
	return l
}

// Stop removes the listener.
func (l *Listener) Stop() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	delete(l.hub.listeners[l.key], l)
	if len(l.hub.listeners[l.key]) == 0 {
		delete(l.hub.listeners, l.key)
	}
}

// Ring wakes who listens to one of these streams, and who listens to All. It never blocks.
func (h *Hub) Ring(streams ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) == 0 {
		return
	}
	ring(h.listeners[All])
	for _, s := range streams {
		ring(h.listeners[s])
	}
}

func ring(ls map[*Listener]struct{}) {
	for l := range ls {
		select {
		case l.Rung <- struct{}{}:
		default:
		}
	}
}
