// Package prompt builds the messages a runtime's model gets: one stable system message, the history, one system message
// with what changes each turn, the player's line, and for runtimes after the narrative the story of this execution with
// a closing cue (seed: turn-pipeline.txt §3.1; reference: plugins.md §18, worlds-and-story.md §17).
//
// Everything is a pure function of In. Data of players, worlds and plugins is XML-escaped where it stands inside a tag,
// and never interpolated; only a plugin's own body is.
package prompt
