module github.com/mcptasks/mcptasks/test/localcluster/binaries/pause

go 1.26.0
