package main

import (
	"github.com/spf13/cobra"
)

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "covel",
		Short: "Interactive stories told with a language model",
		Long: `Covel tells interactive stories: you write a line, plugins work through the stages of a turn, and everything they
agree on is committed together to an append-only log.

  covel serve                     start the server and open the printed address in a browser
  covel play                      play in the terminal
  covel sessions list             see what was played, also while the server runs
  covel trace SESSION             see what happened inside a turn: model calls, tools, hooks, costs
  covel doctor                    see whether everything is as it should be

Without a model of your own the offline storyteller tells the story. For one, see covel serve --help.

Every setting is a flag. A flag that is not given is read from the environment (COVEL_ADDR, COVEL_DATA, COVEL_MODEL, …),
then from config.yaml in the home folder (COVEL_HOME, by default ~/.covel), then it has its default.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	c.PersistentFlags().String("data", "", "folder of the log, blobs and read models (default HOME/data)")
	c.PersistentFlags().String("home", "", "the user's folder for plugins, worlds and config.yaml (default ~/.covel)")
	c.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return fillFlags(cmd) }
	c.AddCommand(serveCommand(), playCommand(), worldsCommand(), sessionsCommand(), eventsCommand(), traceCommand(), doctorCommand(), benchCommand())
	return c
}
