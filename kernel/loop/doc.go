// Package loop is the agent tool loop as a pure state machine: model calls, reviews, tool batches, corrections and the
// settlement of the result (seed: turn-pipeline.txt, "Phases and stop reasons of the tool loop").
//
//	State, Input  ──Step──▶  State, []Effect
//
// A State is a plain value that survives serialisation at every step (Encode, Decode). The runtime actor owns one State,
// executes the effects in order and feeds the answers back as inputs. There is at most one open question at a time: one
// PreStep, one PreCall, one CallModel, one Review or one RunTools.
//
//	effect      what the actor does                              answers with
//	PreStep     asks the PreStep hooks (Hooks.PreStep)           PreStepDone
//	PreCall     asks the PreLLMCall hooks (Hooks.PreCall)        PreCallDone
//	CallModel   waits After, fits the request, calls the model   ModelDelta*, then ModelReplied or ModelFailed;
//	                                                             CallRefused when it was not sent
//	Review      asks the PostLLMResponse hooks (Hooks.Review)    ReviewDone
//	RunTools    runs the batches one after another,              ToolsFinished, one outcome for every call
//	            the calls of one batch at the same time
//	EmitDelta   shows story text                                 –
//	EmitReset   withdraws what was shown so far                  –
//	InterjectionMerged, InterjectionRefused   tells the sender   –
//	StepStarted, StepCompleted   traces                          –
//	Finish      ends the run: cancels what is still running      – (Resume, when it is suspended)
//
// TimeUp, Cancel and Interject may come at any time. Once a State has stopped, late answers change nothing and have no effect.
// What decides what: profile.go (behaviour), completion.go (contracts), settle.go (ends, finalizers, corrections), retry.go
// and limits.go (attempts and silence), interjection.go, deferred.go (search-tools), suspension.go.
package loop
