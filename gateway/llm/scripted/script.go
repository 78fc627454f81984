package scripted

import (
	"time"

	"github.com/covel/covel/kernel/model"
)

// Script says what a Model answers. The zero Script answers nothing.
type Script struct {
	Replies   []Reply
	AtEnd     AtEnd
	Otherwise Responder // answers requests that no reply is for; nil fails them
	// OnRequest sees each request before it is answered; it may be called concurrently.
	OnRequest func(model.Request)
	// Forget does not keep requests for Model.Requests, which a long run would fill the memory with.
	Forget bool
}

// Responder makes a reply for a request, by looking at it. It may be called concurrently.
type Responder func(model.Request) Reply

// AtEnd says what follows the last reply of a row.
type AtEnd string

// The choices for AtEnd; "" is Repeat.
const (
	Repeat    AtEnd = "repeat"    // the last one again
	Loop      AtEnd = "loop"      // the first one again
	Fail      AtEnd = "fail"      // a permanent failure
	Otherwise AtEnd = "otherwise" // ask Script.Otherwise
)

// Reply is one answer: its steps in order.
type Reply struct {
	Subject string // the runtime id it is for; "" is any
	Steps   []Step
	// Check may refuse the request; the call then fails permanently with its error.
	Check  func(model.Request) error
	Chunk  int                // characters per delta, 0: each step whole. Joined emoji and accents are not taken apart.
	Pace   time.Duration      // wait before each delta
	Cut    int                // after so many deltas the stream breaks (Interrupted); 0: never
	Finish model.FinishReason // "": tool_calls where there are calls, else stop
	Usage  *model.Usage       // nil: a quarter of the bytes
}

// Step is one thing a model does: Text, Reasoning, Segment, Tool, Delay, Hold, Stall or Fault.
type Step interface{ step() }

type (
	// Text is written as it stands, apart from what no text may contain.
	Text string
	// Reasoning is thought before or between the text.
	Reasoning string
	// Segment is a member of the one {"segments":[…]} object that all segments of a reply make.
	Segment struct {
		Kind    string `json:"kind"`
		Speaker string `json:"speaker,omitempty"`
		Text    string `json:"text"`
	}
	// Tool is a call. Arguments need not be JSON. Without an ID it gets call-N, counted over the conversation.
	Tool model.ToolCall
	// Delay is silence for some time.
	Delay time.Duration
	// Hold waits at the gate of that name.
	Hold string
	// Stall is silence until the call ends.
	Stall struct{}
	// Fault fails the call.
	Fault model.Error
)

func (Text) step()      {}
func (Reasoning) step() {}
func (Segment) step()   {}
func (Tool) step()      {}
func (Delay) step()     {}
func (Hold) step()      {}
func (Stall) step()     {}
func (Fault) step()     {}
