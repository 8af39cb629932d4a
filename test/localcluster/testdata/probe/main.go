// Command probe is what the test of a full cluster runs in pods: it serves a text, reads one from a service by its name,
// or writes a file.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		handler := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Args[2]) }
		log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(handler)))
	case len(os.Args) == 3 && os.Args[1] == "get":
		resp, err := http.Get(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
			log.Fatal(err)
		}
	case len(os.Args) == 3 && os.Args[1] == "write":
		if err := os.WriteFile(os.Args[2], []byte("written\n"), 0o644); err != nil {
			log.Fatal(err)
		}
	default:
		log.Fatal("usage: probe serve TEXT | probe get URL | probe write FILE")
	}
}
