package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/covel/covel/worlds"
)

func worldsCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the worlds that can be played",
		Long: `Lists the worlds that come with the program and those in HOME/worlds. A world that does not load is told on standard error,
with the file and the field that are wrong.`,
		Example: `  covel worlds list
  covel worlds list --locale zh-CN --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return listWorlds(c) },
	}
	list.Flags().String("locale", "", "language of names and summaries, for example zh-CN (default: of the system)")
	jsonFlag(list)
	return group("worlds", "Worlds that can be played", "Worlds are folders with a world.yaml: those that come with the program, and yours in HOME/worlds.", list)
}

type worldFailure struct {
	Folder string `json:"folder"`
	Error  string `json:"error"`
}

func listWorlds(c *cobra.Command) error {
	locale, _ := c.Flags().GetString("locale")
	if locale == "" {
		locale = systemLocale()
	}
	lib, err := worlds.Open(filepath.Join(homeDir(c), "worlds"))
	if err != nil {
		return err
	}
	items := lib.List(locale)
	failures := []worldFailure{}
	for _, e := range lib.Errors() {
		failures = append(failures, worldFailure{e.Dir, e.Err.Error()})
	}
	if asJSON(c) {
		return printJSON(c, map[string]any{"items": items, "errors": failures})
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tVERSION\tLANGUAGES\tTAGS")
	for _, x := range items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.ID, x.Name, x.Version, strings.Join(x.SupportedLocales, ", "), strings.Join(x.Tags, ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range failures {
		fmt.Fprintf(c.ErrOrStderr(), "\n%s did not load:\n%s\n", f.Folder, f.Error)
	}
	return nil
}
