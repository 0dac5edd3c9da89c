// Command s2 reads and writes S2 streams with the library that nats-server uses:
//
//	s2 encode fast|better|best|uncompressed < plain > stream
//	s2 decode < stream > plain
//	s2 --version
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/klauspost/compress/s2"
)

const library = "github.com/klauspost/compress"

var levels = map[string][]s2.WriterOption{
	"fast":         nil,
	"better":       {s2.WriterBetterCompression()},
	"best":         {s2.WriterBestCompression()},
	"uncompressed": {s2.WriterUncompressed()},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 1 && words[0] == "--version":
		return printVersion()
	case len(words) == 1 && words[0] == "decode":
		_, err := io.Copy(os.Stdout, s2.NewReader(os.Stdin))
		return err
	case len(words) == 2 && words[0] == "encode":
		return encode(words[1])
	}
	return fmt.Errorf("usage: s2 encode LEVEL | decode | --version")
}

func encode(level string) error {
	options, known := levels[level]
	if !known {
		return fmt.Errorf("no level %q", level)
	}
	// One block after the other, as routes write them.
	writer := s2.NewWriter(os.Stdout, append(options, s2.WriterConcurrency(1))...)
	if _, err := io.Copy(writer, os.Stdin); err != nil {
		return err
	}
	return writer.Close()
}

func printVersion() error {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == library {
			fmt.Println(module.Path, module.Version)
			return nil
		}
	}
	return fmt.Errorf("%s is not in this program", library)
}
