// Package storyteller is the offline model: it answers the requests that a language model would get, without network,
// clock or chance, and ships in the binary, so that a fresh installation tells a story before anybody has bought a key.
//
// It is a small writer and works like one, each step in its own files:
//
//	read        read.go, markdown.go, sentence.go, fact.go, build.go, world.go, kinds.go, beast.go,
//	            hours.go, calling.go
//	            The prompt becomes places, people, threads and facts. A fact is a sentence of the world's own text; it is
//	            quoted and never rewritten, so nothing the storyteller says can contradict the author.
//	remember    remember.go, grams.go, device.go
//	            The history is replayed: where the player is, whom they met, what they did, what was told. A text counts as
//	            told when its words stand in the story, whoever wrote them.
//	understand  understand.go, understand_en.go, understand_zh.go, asked.go, lay.go, way.go
//	            A player's line becomes one act, or a way to a place and one act: a verb class, who, where, what about.
//	choose      beat.go, knowledge.go
//	            What the story needs after it has answered: an open thread, a consequence, something new, somebody new, rest.
//	write       teller.go, phrase.go, respond*.go, opening.go, passage.go, english.go, words/
//	            Sentence forms with slots, chosen by what fits and what was used longest ago, joined to a passage of fit
//	            length that names what the player named and ends open.
//	call        tools.go, schema.go, fill.go, guide.go, form.go, scene.go
//	            Tool calls and JSON answers that fit their schemas, a guide's suggestions and a character form among them.
//	sum up      summarise.go
//	            A text that is to be summed up is told by its own sentences, chosen and never rewritten.
//
// Everything that is said stands in words/en and words/zh, one pool of phrases per purpose, the same in both languages.
// "@tag" and "!tag" before a phrase say where it fits, "{slot}" what is put in. A phrase whose slot has nothing to say is not
// used, which is why no mark can be left over.
//
// The storyteller claims no effect: what it tells about things changing hands is prose. Only its tool calls change anything,
// and they say no more than their schemas ask for.
package storyteller
