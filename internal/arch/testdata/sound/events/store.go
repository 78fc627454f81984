package events

import (
	"time"

	"example.com/house/internal/safego"
	_ "example.com/house/proto"
)

var opened = time.Now()

func follow() { safego.Go("follow", func() { go func() {}() }) }
