// Package scripted is a model that plays a script: fixed text in pieces, tool calls, malformed arguments, delays, stalls,
// cut-offs and every kind of failure. Tests of the program and `covel bench` use it in place of a real model.
//
// # In Go
//
//	m := scripted.New(scripted.Script{Replies: []scripted.Reply{
//		{Subject: "narrator", Steps: []scripted.Step{
//			scripted.Segment{Kind: "narration", Text: "The rain has stopped."},
//			scripted.Hold("mid"),
//			scripted.Segment{Kind: "dialogue", Speaker: "陆青云", Text: "你来了。"},
//		}},
//	}, Otherwise: scripted.BundledGame()})
//	<-m.Gate("mid").Reached() // the model is in mid-stream now
//	m.Gate("mid").Pass()
//
// # Which reply is played
//
// A request whose Subject has replies of its own gets the next of them. Otherwise the next reply without a subject is
// played, and where there is none of these either, Otherwise answers. When a row of replies is at its end, AtEnd decides.
// Each subject, and the replies without one, are rows of their own.
//
// # As a file
//
// One directive per line; indentation and empty lines carry no meaning; a line that begins with # is a comment. Settings
// come first and also apply to the replies after them:
//
//	at-end repeat            what follows the last reply: repeat it (default), loop, fail, or otherwise
//	otherwise bundled        who answers when no reply does: bundled is a valid game, none (default) is an error
//	chunk 8                  characters per delta; 0 (default) gives each step out whole
//	pace 5ms                 wait before each delta
//
// Then replies, each from its head to the next:
//
//	reply narrator           subject (a runtime id), or nothing for any
//	  expect 陆青云           the call fails unless some message contains this
//	  text The rain has      text as it stands; further text lines go on a new line
//	  text "stop\nped."      in Go quotes: with escapes, and on the same line
//	  reasoning Hm.
//	  narration The door opens.
//	  action 她点头。
//	  dialogue 陆青云: 你来了。   these three are segments of one {"segments":[…]} object
//	  tool NAME {"a":1}      the rest of the line are the arguments, which need not be JSON
//	  delay 10ms
//	  gate mid               wait until a test passes it; in a program of its own: until the call ends
//	  stall                  be silent until the call ends
//	  fault transient "overloaded" status 503 retry-after 7s
//	  cut 40                 the stream breaks after 40 deltas
//	  finish length          instead of what follows from the steps
//	  usage 900 40 800       tokens in, out, and of those in the cached ones
//
// Kinds of fault are those of model.ErrorKind: transient, rate-limited, interrupted, empty, permanent, timeout, cancelled.
package scripted
