# What .ci/run and .ci/nightly share; they read it, nobody runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=2 # pip: errors only
export PIP_COMPILE=0 # most installed modules are never imported, and Python compiles the others
# Files of bytecode are kept: each process of pytest would rewrite every module again without.
unset PYTHONPATH VIRTUAL_ENV FORCE_COLOR PYTHONDONTWRITEBYTECODE
torch="torch==2.13.0"

work=$(mktemp -d)
background=()
finish() { # whatever still runs beside the steps ends with them
  local pid
  for pid in "${background[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

step() { # name, command...
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

beside() { # name, command...: it runs beside the steps after it, until `join` waits for it
  local name=$1
  shift
  ("$@") >"$work/$name.log" 2>&1 &
  background+=($!)
}

join() { # wait for all that runs beside; what failed is shown, and fails
  local pid
  for pid in "${background[@]}"; do
    wait "$pid" || { cat "$work"/*.log >&2; fail "a step that ran beside the others"; }
  done
  background=()
}

copy() { # folder: the checkout as it is, without what was built in it
  mkdir -p "$1"
  tar -c --exclude=./.git --exclude=./.venv --exclude=./dist --exclude=./build --exclude=./runs \
    --exclude='./.*cache' --exclude=./.hypothesis --exclude=__pycache__ --exclude=node_modules --exclude='*.egg-info' . |
    tar -x -C "$1"
}

from_readme() { # pattern: the command line of README.md that has it
  grep -m 1 "^\\$ .*$1" README.md | cut -c 3- || fail "README.md has no command line with $1"
}

hallucinated() { # folder, command line: it ends with 1, and marks the wrong year
  local output status=0
  output=$(cd "$1" && bash -c "$2") || status=$?
  echo "$output"
  [[ $status == 1 ]] || fail "exit status $status in place of 1"
  grep -q '⟦[^⟧]*1950[^⟧]*⟧' <<<"$output" || fail "1950 is not marked"
  grep -q '^outcome   hallucinated' <<<"$output" || fail "the outcome is another"
}

apt_install() { # package...: without the right to install, what needs it is skipped and says so
  if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update >/dev/null &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >/dev/null ||
      echo "It cannot be installed: its tests are skipped."
  else
    echo "Skipped: there is none, and no right to install it."
  fi
}

install_postgresql() {
  if compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || command -v initdb >/dev/null; then
    echo "It is installed."
    return
  fi
  if [[ $(id -u) == 0 ]]; then
    # The programs alone: no database, no server that starts with the machine.
    mkdir -p /etc/postgresql-common/createcluster.d
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/groundwire.conf
  fi
  apt_install postgresql
}

install_chromium() { # a function named chromium would be what `command -v` finds
  if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then
    echo "It is installed."
  else
    apt_install chromium
  fi
}

node_host() { # Portkey's gateway; without npm, its tests are skipped and say so
  if command -v npm >/dev/null; then
    (cd "$work/tests/tests/gateway/integrations" && npm install --no-audit --no-fund --no-package-lock) ||
      echo "It cannot be installed: its tests are skipped."
  else
    echo "Skipped: there is no npm."
  fi
}

javascript_tests() { # environment: the package for Node with the AI SDK as package-lock.json pins it, and the gateway from there
  (cd "$work/tests/packages/js" && PATH=$work/$1/bin:$PATH bash -c "npm ci --no-audit --no-fund && npm test")
}

in_tests() { (cd "$work/tests" && "$@"); }

build() { # the wheel comes from the source distribution, so both are complete
  python3 -m venv "$work/build"
  "$work/build/bin/pip" install build
  "$work/build/bin/python" -m build --outdir "$work/dist" "$work/source" >/dev/null
  ls -l "$work/dist"
}
