# fish completion for gilua: commands, options, devices, problem and run folders, and the options
# that a script or a command itself lists with --help. It needs fish 3.4.

# written by make docs: names
set -g __gilua_commands doctor improve new check tune evolve apply resume log watch show export rescore diff replay merge verify judge profile calibrate serve agent cluster run record nvcc help version
complete -c gilua -n __gilua_first -a doctor -d 'what this machine has, and what to do about what it lacks'
complete -c gilua -n __gilua_first -a improve -d 'a faster kernel and a verdict: all steps in one'
complete -c gilua -n __gilua_first -a new -d 'a problem folder for a kernel of that file'
complete -c gilua -n __gilua_first -a check -d 'what is wrong with a problem, in order'
complete -c gilua -n __gilua_first -a tune -d 'its parameters, each setting measured'
complete -c gilua -n __gilua_first -a evolve -d 'a faster kernel'
complete -c gilua -n __gilua_first -a apply -d 'what evolve or tune found, put into the file it came from'
complete -c gilua -n __gilua_first -a resume -d 'goes on with a run that did not come to its end'
complete -c gilua -n __gilua_first -a log -d 'what a run evaluated, a line a generation'
complete -c gilua -n __gilua_first -a watch -d 'its page, served to a browser on this machine or over ssh'
complete -c gilua -n __gilua_first -a show -d 'one mutant of a run: what became of it, and its source'
complete -c gilua -n __gilua_first -a export -d 'every evaluation as a table'
complete -c gilua -n __gilua_first -a rescore -d 'all mutants of a run by another formula'
complete -c gilua -n __gilua_first -a diff -d 'in what two runs differ, and where they part'
complete -c gilua -n __gilua_first -a replay -d 'its search simulated from its archive, as it was or otherwise'
complete -c gilua -n __gilua_first -a merge -d 'the archives of runs in one'
complete -c gilua -n __gilua_first -a verify -d 'is it right, and faster, on data nobody saw?'
complete -c gilua -n __gilua_first -a judge -d 'is the kernel of another file right, and faster?'
complete -c gilua -n __gilua_first -a profile -d 'where its kernel\'s time goes'
complete -c gilua -n __gilua_first -a calibrate -d 'a model of the GPU of this machine, for --gpu FILE'
complete -c gilua -n __gilua_first -a serve -d 'gilua as a tool of agents, by the Model Context Protocol'
complete -c gilua -n __gilua_first -a agent -d 'works for gilua on other machines'
complete -c gilua -n __gilua_first -a cluster -d 'who does, and for which runs'
complete -c gilua -n __gilua_first -a run -d 'a whole CUDA program on the virtual GPU, every access checked'
complete -c gilua -n __gilua_first -a record -d 'the same, and keeps what it asked of its GPU'
complete -c gilua -n __gilua_first -a nvcc -d 'builds a program for gilua run, as nvcc would'
complete -c gilua -n __gilua_first -a help -d 'this text, or a command\'s options (also COMMAND --help)'
complete -c gilua -n __gilua_first -a version -d 'gilua\'s and Lua\'s (also --version)'
# end of names

# The words behind gilua up to the cursor that are neither options nor their values: the first is
# the script or the command.
function __gilua_plain
    set -l skip
    for word in (commandline -opc)[2..]
        if set -q skip[1]
            set skip
        else if contains -- $word --device --seed --out --jobs --cluster -e -l
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __gilua_first
    test (count (__gilua_plain)) = 0
end

function __gilua_after # __gilua_after COMMAND…: is it one of these that is being typed?
    set -l plain (__gilua_plain)
    contains -- "$plain[1]" $argv
end

# Folders that hold one of the files FILE…, at most two levels down; all folders where none does.
function __gilua_folders
    set -l some
    set -l all (__fish_complete_directories (commandline -ct) "")
    for folder in $all
        set -l path (string replace -r '^~/' $HOME/ -- (string trim -r -c \t -- $folder))
        for file in $argv
            if count $path/$file $path/*/$file $path/*/*/$file >/dev/null
                set -a some $folder
                break
            end
        end
    end
    if set -q some[1]
        printf '%s\n' $some
    else if set -q all[1]
        printf '%s\n' $all
    end
end

# Only a script that reads its options with gi.cli answers --help, and a command of gilua's own;
# nothing else is run.
function __gilua_own
    set -l plain (__gilua_plain)
    set -l word $plain[1]
    if string match -q -- '*.lua' "$word"
        grep -q 'gi\.cli' "$word" 2>/dev/null; or return
    else
        contains -- "$word" $__gilua_commands; or return
        contains -- "$word" doctor help version; and return
        test -e "$word"; and return
    end
    set -l program (string replace -r '^~/' $HOME/ -- (commandline -opc)[1])
    $program $word --help 2>/dev/null </dev/null |
        string replace -rf '^ +(--[a-z-]+)(?: [A-Z]+)? +(.*)$' '$1\t$2' |
        string match -rv '^--(device|seed|out|jobs|cluster|quiet|help)\t'
end

complete -c gilua -f
complete -c gilua -n '__gilua_after evolve' -l scheme -x -a 'steady langdon gevo' -d 'how to search'
complete -c gilua -l device -x -a 'emu cuda cuda:0 cuda:1' -d 'where kernels run'
complete -c gilua -l seed -x -d 'seed of everything random'
complete -c gilua -l out -x -a '(__fish_complete_directories)' -d 'folder for results'
complete -c gilua -l jobs -x -d 'worker processes'
complete -c gilua -l cluster -x -d 'agents on other machines do the work'
complete -c gilua -l quiet -d 'no progress'
complete -c gilua -l help -d 'what there is'
complete -c gilua -n __gilua_first -l version -d 'print versions'
complete -c gilua -n __gilua_first -s e -x -d 'run code'
complete -c gilua -n __gilua_first -s l -x -d 'require a module'
complete -c gilua -n __gilua_first -s i -d 'enter the prompt after the script'
complete -c gilua -n __gilua_first -s v -d 'print versions'
complete -c gilua -n __gilua_first -a '(__fish_complete_suffix .lua)'
complete -c gilua -n 'string match -q -- "-*" (commandline -ct)' -a '(__gilua_own)'
# written by make docs: words
complete -c gilua -n '__gilua_after check tune evolve profile' -a '(__gilua_folders problem.lua)'
complete -c gilua -n '__gilua_after apply resume log watch show export rescore diff replay merge verify' -a '(__gilua_folders result.json experiment.json)'
complete -c gilua -n '__gilua_after improve new calibrate' -a '(__fish_complete_suffix .cu; __fish_complete_suffix .rec)'
complete -c gilua -n '__gilua_after judge serve agent cluster run record nvcc' -F
complete -c gilua -n '__gilua_after help' -a "$__gilua_commands"
# end of words
complete -c gilua -n 'string match -q -- "*.lua" (__gilua_plain)[1]' -F
