package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// fillFlags gives every flag that was not on the command line its value from the environment, then from the file: flag,
// environment, file, default, in that order.
func fillFlags(cmd *cobra.Command) error {
	if err := fromEnvironment(cmd.Flags(), "home"); err != nil {
		return err
	}
	file, err := configFile(homeDir(cmd))
	if err != nil {
		return err
	}
	var failure error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if failure != nil || f.Changed {
			return
		}
		if failure = fromEnvironment(cmd.Flags(), f.Name); failure != nil || f.Changed {
			return
		}
		if v, ok := file[f.Name]; ok {
			if err := cmd.Flags().Set(f.Name, v); err != nil {
				failure = errors.Errorf("config.yaml: %s: %v", f.Name, err)
			}
		}
	})
	return failure
}

func envName(flag string) string {
	return "COVEL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(flags *pflag.FlagSet, name string) error {
	f := flags.Lookup(name)
	if f == nil || f.Changed {
		return nil
	}
	v, ok := os.LookupEnv(envName(name))
	if !ok {
		return nil
	}
	if err := flags.Set(name, v); err != nil {
		return errors.Errorf("%s: %v", envName(name), err)
	}
	return nil
}

// configFile reads HOME/config.yaml: flag names with their values. A file that is not there is empty.
func configFile(home string) (map[string]string, error) {
	path := filepath.Join(home, "config.yaml")
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrapf(err, "read %s", path)
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal(b, &raw); err != nil {
		return nil, errors.Errorf("%s: %v", path, err)
	}
	out := map[string]string{}
	for k, v := range raw {
		switch v := v.(type) {
		case string, int, bool, float64:
			out[k] = fmt.Sprint(v)
		default:
			return nil, errors.Errorf("%s: %s must be a text, a number, true or false", path, k)
		}
	}
	return out, nil
}

func homeDir(cmd *cobra.Command) string {
	if h, _ := cmd.Flags().GetString("home"); h != "" {
		return h
	}
	if u, err := os.UserHomeDir(); err == nil {
		return filepath.Join(u, ".covel")
	}
	return ".covel"
}

func dataDir(cmd *cobra.Command) string {
	if d, _ := cmd.Flags().GetString("data"); d != "" {
		return d
	}
	return filepath.Join(homeDir(cmd), "data")
}
