"""Completion scripts for shells, made from the parser."""

from argparse import ArgumentParser, _SubParsersAction

_BASH = """_featgrad() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="%(commands)s"
  else
    case "${COMP_WORDS[1]}" in
%(cases)s
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _featgrad featgrad"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def complete(parser: ArgumentParser, shell: str) -> None:
    """Print the script of a shell."""
    options = _options(parser)
    print(_fish(options) if shell == "fish" else (_ZSH if shell == "zsh" else "") + _bash(options))


def _options(parser: ArgumentParser) -> dict[str, list[str]]:
    """The options of each command."""
    (commands,) = (a for a in parser._actions if isinstance(a, _SubParsersAction))
    return {
        name: [option for action in command._actions for option in action.option_strings]
        for name, command in commands.choices.items()
    }


def _bash(options: dict[str, list[str]]) -> str:
    cases = (f'      {name}) words="{" ".join(given)}" ;;' for name, given in options.items())
    return _BASH % {"commands": " ".join(options), "cases": "\n".join(cases)}


def _fish(options: dict[str, list[str]]) -> str:
    lines = [f"complete -c featgrad -n __fish_use_subcommand -a '{' '.join(options)}'"]
    for name, given in options.items():
        for option in given:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(f"complete -c featgrad -n '__fish_seen_subcommand_from {name}' {kind}")
    return "\n".join(lines)
