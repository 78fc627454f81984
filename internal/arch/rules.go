package arch

// rooms is the house in order: a room imports only rooms before it, and itself. internal/ stands before all.
var rooms = []string{"internal", "proto", "events", "projections", "plugins", "worlds", "kernel", "actors", "gateway", "cmd"}

// MaxLines is the longest a source file may get, generated code aside.
const MaxLines = 900

// Names that several rules share. "~" is this module.
var (
	readModels = []string{"~/projections/engine/...", "~/projections/sql/..."}
	stores     = []string{"~/events/memory/...", "~/events/sqlite/...", "~/events/postgres/...", "~/events/esdb/...", "~/events/blobfs/...", "~/events/offload/...", "~/events/trace/memory/...", "~/events/trace/sqlite/..."}
	bundled    = []string{"~/plugins/bundled/..."}
	libraries  = []string{"github.com/openai/...", "github.com/gorilla/websocket/...", "github.com/coder/websocket/..."}
	world      = []string{"os/...", "net/...", "syscall/...", "io/ioutil", "path/filepath", "database/sql/...", "log/syslog", "github.com/asynkron/...", "golang.org/x/sys/..."}
	chance     = []string{"math/rand/...", "crypto/rand"}

	// pure rooms are values in, values out: a fold or a step gives the same result for ever.
	pure = []string{"kernel/...", "projections"}
	// supervised rooms run for every session at once: a panic in a goroutine nobody recovers kills all of them.
	supervised = []string{"actors/...", "plugins/...", "gateway/llm/..."}
)

// importRules say what a folder may not import. The order of the rooms is a rule of its own, "order".
var importRules = []importRule{
	{
		name: "pure-imports", in: append([]string{"plugins/bundled/*/..."}, pure...), deny: world,
		fix: "a pure room and a bundled plugin know no disk, network or actor: take the value as an argument or an input, or ask for an effect",
	},
	{
		name: "no-chance", in: append([]string{"plugins/bundled/*/..."}, pure...), deny: chance,
		fix: "random numbers come from (execution, run, counter) and are handed in, so that a recorded execution runs again to the same bytes",
	},
	{
		name: "sdk-alone", in: []string{"plugins/sdk/..."}, deny: []string{"~/..."},
		except: []string{"~/plugins/sdk/..."},
		fix:    "the SDK is all that a plugin author sees; move what is needed into it, or the other way round the code that needs ours out of it",
	},
	{
		name: "plugins-are-strangers", in: []string{"plugins/bundled/*/..."}, deny: []string{"~/..."},
		except: []string{"~/plugins/sdk/..."}, own: true,
		fix: "a bundled plugin sees what any plugin sees, plugins/sdk; if something is missing there, add it to the SDK",
	},
	{
		name: "bundled-by-cmd", in: []string{"..."}, notIn: []string{"plugins/bundled/...", "cmd/..."}, deny: bundled,
		fix: "nothing may depend on a certain plugin: cmd hands the bundled packages to the registry",
	},
	{
		name: "read-models", in: []string{"..."}, notIn: []string{"projections/...", "actors/node/...", "gateway/...", "cmd/..."}, deny: readModels,
		fix: "read models are projected and asked in actors/node, gateway and cmd only; a session's own state is the fold in projections",
	},
	{
		name: "stores-by-cmd", in: []string{"..."}, notIn: []string{"events/...", "cmd/..."}, deny: stores,
		fix: "use the events.Store contract; cmd chooses the store (gateway/play asks sessions and read models, never a store)",
	},
	{
		name: "actors-no-http", in: []string{"actors/..."}, deny: append([]string{"net/http/...", "~/gateway/..."}, libraries...),
		fix: "declare a port in actors and let cmd hand in what gateway implements",
	},
}

// callRules say which names of which packages a folder may not use.
var callRules = []callRule{
	{
		name: "no-clock", in: append([]string{"plugins/bundled/*/..."}, pure...), pkg: "time",
		names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		fix:   "time comes in: as a field of an input or of Env, or with the event (recorded-at)",
	},
	{
		name: "no-fresh-ids", in: append([]string{"plugins/bundled/*/..."}, pure...), pkg: "github.com/google/uuid",
		names: []string{"New", "NewString", "NewRandom", "NewRandomFromReader", "NewUUID", "NewV6", "NewV7", "NewDCEGroup", "NewDCEPerson", "NewDCESecurity", "GetTime", "NodeID"},
		fix:   "a fresh id comes in with Env, or is derived with uuid.NewSHA1 from what it names",
	},
}
