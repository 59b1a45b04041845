// Loads a compose file with every profile, as docker compose does, and fails where it would.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true))
	if err == nil {
		project, loaded := options.LoadProject(context.Background())
		if err = loaded; err == nil {
			for name, service := range project.Services {
				if service.Image == "" {
					err = fmt.Errorf("service %s has no image", name)
				}
			}
			fmt.Println(len(project.Services), "services")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
