package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Start the server and print its address",
		Long: `Starts the server on loopback with an embedded store and the offline storyteller. Everything is in one folder (--data).

Ctrl-C ends it: turns that are running are stopped and can be tried again; nothing committed is lost, also not by a crash.`,
		Example: `  covel serve
  covel serve --addr 127.0.0.1:8080 --data ./data
  COVEL_MODEL_KEY=… covel serve --model openai:gpt-4.1
  covel serve --model openai:llama3 --model-url http://127.0.0.1:11434/v1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c) },
	}
	c.Flags().String("addr", "127.0.0.1:7420", "address to listen on; loopback only, port 0 takes a free one")
	serverFlags(c)
	return c
}

func serve(c *cobra.Command) error {
	addr, _ := c.Flags().GetString("addr")
	cfg, err := readServerConfig(c, addr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := openServer(ctx, cfg)
	if err != nil {
		cfg.done()
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Covel is ready: %s\n", s.url)
	if cfg.info.Offline {
		fmt.Fprintln(c.OutOrStdout(), "The offline storyteller tells the story; see --help for using a model.")
	}
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	stop() // a second signal ends the program at once
	fmt.Fprintln(c.OutOrStdout(), "Shutting down …")
	closeErr := s.close()
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		err = closeErr
	}
	return err
}
