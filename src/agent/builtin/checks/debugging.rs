//! Debugging leftovers: breakpoints, dumps, prints and placeholders.

use super::{BASE, C, CSHARP, Check, ELIXIR, Fix, GO, JS, PHP, PYTHON, Place, RUBY, RUST, SHELL};
use crate::contracts::{Category, Severity};

pub(super) const LEFTOVERS: &[Check] = &[
    Check {
        name: "js-debugger",
        files: JS,
        needles: &["debugger"],
        pattern: r"^\s*debugger\s*;?\s*$",
        body: "A `debugger` statement is left in. The page stops here whenever someone has the developer tools open. Remove it.",
        fires: &[("src/a.ts", "    debugger;"), ("a.vue", "debugger")],
        quiet: &[
            ("a.js", "// debugger;"),
            ("a.js", "const debugger_port = 1;"),
            ("a.py", "debugger"),
            ("a.js", "x = 'debugger'"),
        ],
        ..BASE
    },
    Check {
        name: "js-console",
        files: JS,
        place: Place::Product,
        needles: &["console."],
        pattern: r"^\s*(?:window\.)?console\.(?:log|debug|dir|trace|table)\(",
        body: "Output to the console is left in. It shows every visitor what was meant for the developer, and fills the logs of \
               a server. Remove it, or use the project's logger.",
        fires: &[("src/cart.ts", "  console.log('here', cart);"), ("src/a.jsx", "console.table(rows)")],
        quiet: &[
            ("src/cart.ts", "  console.error(error);"),
            ("src/cart.ts", "  // console.log(cart);"),
            ("scripts/build.js", "console.log('built');"),
            ("src/cart.test.ts", "console.log(cart);"),
            ("bin/tool.mjs", "console.log(usage);"),
            ("src/cli.ts", "console.log(usage);"),
        ],
        ..BASE
    },
    Check {
        name: "python-breakpoint",
        files: PYTHON,
        needles: &["breakpoint()", "set_trace()"],
        pattern: r"^\s*(?:import (?:pdb|ipdb|pudb)\s*;\s*)?(?:breakpoint\(\)|(?:pdb|ipdb|pudb|rpdb|wdb|celery\.contrib\.rdb|rdb)\.set_trace\(\))\s*(?:#.*)?$",
        severity: Severity::High,
        category: Category::Correctness,
        body: BREAKPOINT,
        fires: &[
            ("a.py", "    breakpoint()"),
            ("a.py", "import pdb; pdb.set_trace()"),
            ("a.py", "\tipdb.set_trace()  # look"),
        ],
        quiet: &[
            ("a.py", "# breakpoint()"),
            ("a.py", "add_breakpoint()"),
            ("a.md", "breakpoint()"),
            ("a.py", "x = 'breakpoint()'"),
        ],
        ..BASE
    },
    Check {
        name: "python-debugger-import",
        files: PYTHON,
        needles: &["pdb", "pudb", "icecream", "pysnooper"],
        pattern: r"^\s*(?:import|from)\s+(?:pdb|ipdb|pudb|icecream|pysnooper)\b[^;]*$",
        body: "A debugger is imported. Only a debugging session needs it, and where it is not installed this line fails. Remove it.",
        fires: &[("a.py", "import ipdb"), ("a.py", "from icecream import ic")],
        quiet: &[("a.py", "import pdb_tools"), ("a.py", "import pdb; pdb.set_trace()"), ("a.py", "# import pdb")],
        ..BASE
    },
    Check {
        name: "ruby-breakpoint",
        files: RUBY,
        needles: &["binding.", "byebug", "debugger"],
        pattern: r"^\s*(?:<%=?\s*)?(?:binding\.(?:pry|irb|b|break|remote_pry)|byebug|debugger)\s*(?:%>)?\s*(?:#.*)?$",
        severity: Severity::High,
        category: Category::Correctness,
        body: BREAKPOINT,
        fires: &[("app/a.rb", "    binding.pry"), ("a.rb", "byebug"), ("a.erb", "<% binding.irb %>")],
        quiet: &[("a.rb", "# binding.pry"), ("Gemfile", "gem 'byebug'"), ("a.rb", "binding.local_variables")],
        ..BASE
    },
    Check {
        name: "php-dump",
        files: PHP,
        needles: &["var_dump", "dd(", "dump(", "print_r", "xdebug_break"],
        pattern: r"^\s*(?:die\(|exit\(|echo\s+|@)?(?:var_dump|dd|ddd|dump|print_r|xdebug_break)\s*\(",
        except: Some(r",\s*true\s*\)"),
        severity: Severity::Medium,
        category: Category::Security,
        body: "A variable dump is left in. It shows visitors what the program holds, credentials and personal data included. \
               Remove it.",
        fires: &[
            ("a.php", "    var_dump($user);"),
            ("app/a.php", "dd($request->all());"),
            ("a.php", "die(print_r($x));"),
        ],
        quiet: &[
            ("a.php", "$text = print_r($x, true);"),
            ("a.php", "print_r($x, true);"),
            ("a.php", "// var_dump($user);"),
            ("a.php", "$this->dump($x);"),
            ("a.php", "function dd($x) {"),
        ],
        ..BASE
    },
    Check {
        name: "rust-dbg",
        files: RUST,
        needles: &["dbg!("],
        pattern: r"^[^\x22]*\bdbg!\(",
        except: Some(r"^\s*(?://|///|//!)"),
        body: "A `dbg!` is left in. It prints to stderr in release builds too. Remove it, or log.",
        fires: &[("a.rs", "    dbg!(&x);"), ("a.rs", "let y = dbg!(f(x));")],
        quiet: &[("a.rs", "// dbg!(x)"), ("a.rs", "let s = \"dbg!(x)\";"), ("a.rs", "my_dbg!(x)")],
        ..BASE
    },
    Check {
        name: "rust-placeholder",
        files: RUST,
        place: Place::Product,
        needles: &["todo!(", "unimplemented!("],
        pattern: r"^[^\x22]*\b(?:todo|unimplemented)!\(",
        except: Some(r"^\s*//"),
        severity: Severity::Medium,
        category: Category::Correctness,
        body: "A placeholder that panics. Whoever reaches this line gets a crash instead of an answer. Finish it, or return an \
               error that says what is not supported.",
        fix: Fix::None,
        fires: &[("a.rs", "        Kind::New => todo!(),"), ("a.rs", "unimplemented!(\"later\")")],
        quiet: &[
            ("a.rs", "// todo!()"),
            ("tests/a.rs", "|_| unimplemented!(),"),
            ("a.rs", "let s = \"todo!()\";"),
            ("a.rs", "// TODO: more"),
        ],
        ..BASE
    },
    Check {
        name: "go-breakpoint",
        files: GO,
        needles: &["runtime.Breakpoint()", "spew.Dump("],
        pattern: r"^\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\()",
        severity: Severity::Medium,
        body: "A debugging aid is left in. It stops the program or prints what it holds. Remove it.",
        fires: &[("a.go", "\truntime.Breakpoint()"), ("a.go", "\tspew.Dump(user)")],
        quiet: &[("a.go", "\t// spew.Dump(user)"), ("a.go", "\tname := \"spew.Dump(\"")],
        ..BASE
    },
    Check {
        name: "debug-print",
        files: &[
            "go", "java", "kt", "scala", "groovy", "rs", "py", "rb", "c", "cc", "cpp", "cs", "swift", "dart", "php",
        ],
        needles: &["rint", "puts", "cout", "cerr", "echo", "WriteLine"],
        pattern: r#"(?i-u)^\s*(?:fmt\.print(?:ln|f)?|system\.(?:out|err)\.print(?:ln|f)?|console\.writeline|e?println!?|eprint!|print!?|printf|puts|echo|(?:std::)?c(?:out|err)\s*<<)\s*\(?\s*f?["'](?:(?:debug(?:ging)?|here|foo|bar|asdf|xxx+|testing|wtf|got here|in here)\b\s*\d*\s*[:!.>=-]*\s*["'{%]|(?:>>>+|====+|#####*|!!!+|\*\*\*\*+)\s*(?:debug|here)?)"#,
        place: Place::Product,
        body: "A debugging print is left in. It means something to whoever wrote it only. Remove it, or log what an operator \
               could use.",
        fires: &[
            ("a.go", "\tfmt.Println(\"here\")"),
            ("A.java", "    System.out.println(\"DEBUG: \" + x);"),
            ("a.py", "    print(\"here 2\")"),
            ("a.py", "print('>>> got it', x)"),
            ("a.cpp", "  std::cout << \"debug\" << x;"),
            ("a.rs", "    println!(\"xxx {x}\");"),
        ],
        quiet: &[
            ("a.go", "\tfmt.Println(\"Here are your results\")"),
            ("a.py", "    print(\"Hello, world\")"),
            ("a.py", "print(f\"{count} files\")"),
            ("tests/a.py", "print(\"here\")"),
            ("a.py", "logger.debug(\"here\")"),
            ("A.java", "System.out.println(report);"),
            ("a.sh", "echo \"here\""),
        ],
        ..BASE
    },
    Check {
        name: "c-breakpoint",
        files: C,
        needles: &["__debugbreak", "SIGTRAP", "int3", "int $3", "DebugBreak"],
        pattern: r#"^\s*(?:__debugbreak\(\)|raise\(SIGTRAP\)|(?:__)?asm(?:__)?(?:\s+volatile)?\s*\(\s*"int(?:3|\s+\$3)"|DebugBreak\(\))"#,
        severity: Severity::High,
        category: Category::Correctness,
        body: "A breakpoint is left in. Without a debugger the process dies here. Remove it.",
        fires: &[("a.cpp", "    __debugbreak();"), ("a.c", "\traise(SIGTRAP);"), ("a.c", "asm(\"int3\");")],
        quiet: &[("a.c", "// __debugbreak();"), ("a.c", "signal(SIGTRAP, handler);")],
        ..BASE
    },
    Check {
        name: "csharp-breakpoint",
        files: CSHARP,
        needles: &["Debugger."],
        pattern: r"^\s*(?:System\.Diagnostics\.)?Debugger\.(?:Break|Launch)\(\)",
        severity: Severity::High,
        category: Category::Correctness,
        body: "A breakpoint is left in. Without a debugger it stops the program or asks the user to attach one. Remove it.",
        fires: &[("A.cs", "        Debugger.Break();"), ("A.cs", "System.Diagnostics.Debugger.Launch();")],
        quiet: &[("A.cs", "// Debugger.Break();"), ("A.cs", "if (Debugger.IsAttached)")],
        ..BASE
    },
    Check {
        name: "elixir-inspect",
        files: ELIXIR,
        needles: &["IO.inspect", "IEx.pry", "dbg("],
        pattern: r"(?:^|\|>)\s*(?:require IEx;\s*)?(?:IO\.inspect\(|IEx\.pry\(?\)?|dbg\()",
        except: Some(r"^\s*#"),
        body: "An inspection is left in. It prints what the program holds, or stops it. Remove it.",
        fires: &[("a.ex", "    |> IO.inspect(label: \"x\")"), ("a.ex", "require IEx; IEx.pry()")],
        quiet: &[("a.ex", "# IO.inspect(x)"), ("a.ex", "Logger.debug(x)")],
        fix: Fix::None,
        ..BASE
    },
    Check {
        name: "r-browser",
        files: &["r", "R"],
        needles: &["browser()"],
        pattern: r"^\s*browser\(\)\s*$",
        severity: Severity::High,
        category: Category::Correctness,
        body: BREAKPOINT,
        fires: &[("a.R", "  browser()")],
        quiet: &[("a.R", "# browser()"), ("a.py", "browser()")],
        ..BASE
    },
    Check {
        name: "perl-breakpoint",
        files: &["pl", "pm"],
        needles: &["DB::single"],
        pattern: r"^\s*\$DB::single\s*=\s*1",
        body: "A breakpoint is left in. Remove it.",
        fires: &[("a.pl", "$DB::single = 1;")],
        quiet: &[("a.pl", "# $DB::single = 1;"), ("a.pl", "$DB::single = 0;")],
        ..BASE
    },
    Check {
        name: "shell-trace",
        files: SHELL,
        needles: &["set -x", "xtrace"],
        pattern: r"^\s*set\s+(?:-x|-o\s+xtrace)\s*(?:#.*)?$",
        category: Category::Security,
        body: "Command tracing is switched on. Every command is printed with its variables filled in, tokens and passwords \
               included, and a job's log keeps them. Remove it, or switch it off around what handles secrets.",
        fires: &[("a.sh", "set -x"), ("ci/a.bash", "  set -o xtrace  # debug")],
        quiet: &[("a.sh", "set -eu"), ("a.sh", "# set -x"), ("a.sh", "set +x"), ("a.sh", "test -x file")],
        ..BASE
    },
];

const BREAKPOINT: &str = "A breakpoint is left in. A process without a terminal stops here for good: a request, a job or a \
                          test run hangs until something kills it. Remove it.";
