// Package arch holds the source of the project to the rules of its house: which room may import which, what the pure
// rooms may not touch, where goroutines may start, and that no plugin is known by name outside its own folder.
//
// The rules are the tables in rules.go. They are checked by this package's tests, and so by `make lint` and `make test`:
//
//	go test ./internal/arch
//
// Only syntax is read, never types: a rule also holds in code that does not compile yet and behind every build tag, and
// a check of the whole tree takes well under a second. What syntax cannot see (a clock behind a function value, a room
// reached through reflection) is left to review.
package arch
