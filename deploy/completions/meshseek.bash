# Made by make_completions.py. Do not edit.
_meshseek() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options
    case $before in
    --folder|--vault) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    --config|--link|--port) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --source) mapfile -t COMPREPLY < <(compgen -W 'auto omnisearch local' -- "$word"); return ;;
    esac
    case ${COMP_WORDS[1]} in
    search) options='-n --limit --folder --json --source --vault -h --help' ;;
    demo) options='-h --help --vault --loss --seed --speed' ;;
    serve) options='-h --help --config' ;;
    init) options='-h --help --config --vault --port --node --key --name --yes' ;;
    pair) options='-h --help --config --node --key --name --yes' ;;
    doctor) options='-h --help --config --json' ;;
    status) options='-h --help --config --json --watch --show-text' ;;
    note) options='-h --help --config' ;;
    simulate) options='-h --help --link --loss --seed --speed --chatter' ;;
    esac
    ((COMP_CWORD == 1)) && options='search demo serve init pair doctor status note simulate --help --version'
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}
complete -o filenames -F _meshseek meshseek
