//! Tests that no longer run, and focus that switches off the others.

use super::{BASE, C, CSHARP, Check, DART, ELIXIR, Family, Fix, GO, JS, JVM, PHP, PYTHON, Place, RUBY, RUST, SWIFT};
use crate::contracts::{Category, Severity};

pub(super) const DISABLED_TESTS: &[Check] = &[
    Check {
        name: "js-only",
        files: JS,
        needles: &[".only"],
        pattern: r"^\s*(?:it|test|describe|context|suite|specify|fixture)(?:\.\w+)*\.only(?:\.each)?\s*[(`]",
        fix: Fix::Replace(".only", ""),
        fires: &[("a.test.ts", "  it.only('adds', () => {"), ("a.js", "describe.only(\"x\", function () {")],
        quiet: &[("a.ts", "// it.only('adds')"), ("a.ts", "query.only('id')"), ("a.ts", "it('only adds', () => {")],
        ..FOCUSED
    },
    Check {
        name: "js-focused",
        files: JS,
        place: Place::Tests,
        needles: &["fit(", "fdescribe(", "fcontext("],
        pattern: r"^\s*(?:fit|fdescribe|fcontext)\(\s*['\x22`]",
        fix: Fix::Replace("f", ""),
        fires: &[("a.spec.js", "  fit('adds', () => {"), ("spec/a.js", "fdescribe('x', () => {")],
        quiet: &[("src/chart.js", "fit('width', 3)"), ("a.spec.js", "  outfit('adds')"), ("a.spec.js", "// fit('x')")],
        ..FOCUSED
    },
    Check {
        name: "ruby-focused",
        files: RUBY,
        place: Place::Tests,
        needles: &["fit", "fdescribe", "fcontext", "focus"],
        pattern: r"^\s*(?:(?:fit|fdescribe|fcontext)\s+['\x22]|.*,\s*(?::focus\b|focus:\s*true))",
        except: Some(r"^\s*#"),
        fix: Fix::None,
        fires: &[("spec/a_spec.rb", "  fit \"adds\" do"), ("spec/a_spec.rb", "  it 'adds', :focus do")],
        quiet: &[("spec/a_spec.rb", "  it 'is fit' do"), ("app/a.rb", "input focus: true, x: 1, focus: true")],
        ..FOCUSED
    },
    Check {
        name: "js-skip",
        files: JS,
        needles: &[".skip", ".fixme", "xit", "xdescribe", "xtest", "xcontext", "xspecify"],
        pattern: r"^\s*(?:(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.(?:skip|fixme)(?:\.each)?\s*[(`]\s*['\x22`]|(?:xit|xdescribe|xtest|xcontext|xspecify)\s*\()",
        fires: &[
            ("a.test.ts", "  it.skip('adds', () => {"),
            ("a.js", "xdescribe('x', () => {"),
            ("a.ts", "test.fixme('y', async () => {"),
        ],
        quiet: &[
            ("a.ts", "// it.skip('adds')"),
            ("a.ts", "stream.skip(3)"),
            ("a.ts", "test.skip(isWindows, 'no symlinks');"),
            ("a.ts", "exit();"),
        ],
        ..DISABLED
    },
    Check {
        name: "python-skip",
        files: PYTHON,
        needles: &["skip"],
        pattern: r"^\s*(?:@(?:pytest\.mark\.skip|unittest\.skip|skip)\b(?:\(|\s*$)|pytestmark\s*=\s*pytest\.mark\.skip\b)",
        fires: &[
            ("tests/test_a.py", "@pytest.mark.skip(reason='flaky')"),
            ("test_a.py", "    @unittest.skip(\"later\")"),
            ("test_a.py", "@pytest.mark.skip"),
            ("test_a.py", "pytestmark = pytest.mark.skip"),
        ],
        quiet: &[
            ("test_a.py", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')"),
            ("test_a.py", "# @pytest.mark.skip"),
            ("test_a.py", "@unittest.skipUnless(x, 'y')"),
            ("test_a.py", "def skip(x):"),
        ],
        ..DISABLED
    },
    Check {
        name: "python-skip-call",
        files: PYTHON,
        place: Place::Tests,
        needles: &["skip"],
        pattern: r"^\s*(?:pytest\.skip\(|self\.skipTest\(|raise\s+(?:unittest\.)?SkipTest\b)",
        fine_below_if: true,
        fires: &[
            ("tests/test_a.py", "def test_x():\n    pytest.skip('later')"),
            ("test_a.py", "        self.skipTest('flaky')"),
        ],
        quiet: &[
            ("test_a.py", "    if not has_docker():\n        pytest.skip('no docker')"),
            ("test_a.py", "    except ImportError:\n        self.skipTest('no numpy')"),
        ],
        ..DISABLED
    },
    Check {
        name: "python-xfail",
        files: PYTHON,
        needles: &["xfail", "expectedFailure"],
        pattern: r"^\s*@(?:pytest\.mark\.xfail|unittest\.expectedFailure)\b",
        severity: Severity::Low,
        body: "A test is now expected to fail. It no longer guards anything. Fix what it found, or name the ticket that will.",
        fires: &[("test_a.py", "@pytest.mark.xfail(reason='bug 12')"), ("test_a.py", "    @unittest.expectedFailure")],
        quiet: &[("test_a.py", "# @pytest.mark.xfail"), ("test_a.py", "xfail = 1")],
        ..DISABLED
    },
    Check {
        name: "jvm-ignore",
        files: JVM,
        place: Place::Tests,
        needles: &["@Ignore", "@Disabled", "enabled", "ignore("],
        pattern: r"^\s*(?:@Ignore\b|@Disabled\b|@Test\s*\([^)]*\benabled\s*=\s*false|ignore\s*\(\s*\x22)",
        fires: &[
            ("src/test/java/ATest.java", "    @Disabled(\"flaky\")"),
            ("src/test/kotlin/ATest.kt", "    @Ignore"),
            ("ATest.java", "@Test(enabled = false)"),
            ("src/test/scala/ASpec.scala", "  ignore(\"adds\") {"),
        ],
        quiet: &[
            ("src/main/java/User.java", "    @Ignore"),
            ("ATest.java", "@DisabledOnOs(OS.WINDOWS)"),
            ("ATest.java", "// @Disabled"),
            ("ATest.java", "@JsonIgnore"),
        ],
        ..DISABLED
    },
    Check {
        name: "rust-ignore",
        files: RUST,
        needles: &["#[ignore"],
        pattern: r"^\s*#\[ignore\b",
        fires: &[("src/a.rs", "    #[ignore]"), ("tests/a.rs", "#[ignore = \"slow\"]")],
        quiet: &[("a.rs", "// #[ignore]"), ("a.rs", "#[serde(ignore)]"), ("a.rs", "let s = \"#[ignore]\";")],
        ..DISABLED
    },
    Check {
        name: "go-skip",
        files: GO,
        place: Place::Tests,
        needles: &[".Skip"],
        pattern: r"^\s*[tb]\.Skip(?:Now|f)?\(",
        fine_below_if: true,
        fires: &[("a_test.go", "func TestA(t *testing.T) {\n\tt.Skip(\"flaky\")")],
        quiet: &[
            ("a_test.go", "\tif testing.Short() {\n\t\tt.Skip(\"slow\")"),
            ("a_test.go", "\t// t.Skip()"),
            ("a.go", "\tt.Skip(3)"),
        ],
        ..DISABLED
    },
    Check {
        name: "ruby-skip",
        files: RUBY,
        place: Place::Tests,
        needles: &["xit", "xdescribe", "xcontext", "xspecify", "skip", "pending"],
        pattern: r"^\s*(?:(?:xit|xdescribe|xcontext|xspecify)\s+['\x22(]|(?:skip|pending)(?:\s+['\x22]|\s*$|\(['\x22])|(?:it|describe|context)\b.*,\s*(?::skip\b|skip:|:pending\b|pending:))",
        fine_below_if: true,
        fires: &[
            ("spec/a_spec.rb", "  xit \"adds\" do"),
            ("test/a_test.rb", "    skip \"flaky\""),
            ("spec/a_spec.rb", "it 'x', skip: true do"),
        ],
        quiet: &[
            ("app/a.rb", "skip \"x\""),
            ("spec/a_spec.rb", "    # skip \"x\""),
            ("spec/a_spec.rb", "  if windows?\n    skip 'no fork'"),
            ("spec/a_spec.rb", "    skip_before_action :x"),
        ],
        ..DISABLED
    },
    Check {
        name: "csharp-skip",
        files: CSHARP,
        needles: &["Ignore", "Skip"],
        pattern: r"^\s*\[(?:[^\]]*,\s*)?(?:Ignore\b(?:\(|\])|(?:Fact|Theory)\s*\([^)]*\bSkip\s*=)",
        fires: &[
            ("ATests.cs", "    [Fact(Skip = \"flaky\")]"),
            ("ATests.cs", "[Ignore(\"later\")]"),
            ("ATests.cs", "[Test, Ignore(\"x\")]"),
        ],
        quiet: &[("A.cs", "    [JsonIgnore]"), ("A.cs", "// [Ignore]"), ("A.cs", "rows.Skip(3)")],
        ..DISABLED
    },
    Check {
        name: "php-skip",
        files: PHP,
        place: Place::Tests,
        needles: &["markTestSkipped", "markTestIncomplete", "->skip("],
        pattern: r"^\s*(?:\$this->|self::|static::)markTest(?:Skipped|Incomplete)\(|\)->skip\(\s*(?:['\x22][^,]*)?\)",
        fine_below_if: true,
        fires: &[("tests/ATest.php", "        $this->markTestSkipped('flaky');"), ("tests/a.php", "})->skip();")],
        quiet: &[
            ("tests/ATest.php", "        if (!extension_loaded('gd')) {\n            $this->markTestSkipped('no gd');"),
            ("src/A.php", "$rows = collect($x)->skip();"),
        ],
        ..DISABLED
    },
    Check {
        name: "swift-skip",
        files: SWIFT,
        needles: &["XCTSkip", ".disabled("],
        pattern: r"^\s*(?:throw\s+XCTSkip\(|@(?:Test|Suite)\(.*\.disabled\()",
        fine_below_if: true,
        fires: &[
            ("ATests.swift", "        throw XCTSkip(\"flaky\")"),
            ("ATests.swift", "@Test(.disabled(\"x\")) func a() {"),
        ],
        quiet: &[("ATests.swift", "try XCTSkipIf(isCI)"), ("V.swift", "Button().disabled(true)")],
        ..DISABLED
    },
    Check {
        name: "elixir-skip",
        files: ELIXIR,
        needles: &["tag"],
        pattern: r"^\s*@(?:module|describe)?tag\s+(?::skip\b|skip:)",
        fires: &[("test/a_test.exs", "  @tag :skip"), ("test/a_test.exs", "@moduletag skip: \"x\"")],
        quiet: &[("test/a_test.exs", "@tag :slow"), ("test/a_test.exs", "# @tag :skip")],
        ..DISABLED
    },
    Check {
        name: "gtest-disabled",
        files: C,
        needles: &["DISABLED_", "GTEST_SKIP"],
        pattern: r"^\s*(?:(?:TYPED_)?TEST(?:_F|_P)?\s*\([^)]*\bDISABLED_|GTEST_SKIP\(\))",
        fine_below_if: true,
        fires: &[("a_test.cc", "TEST_F(Cart, DISABLED_Adds) {"), ("a_test.cc", "  GTEST_SKIP() << \"x\";")],
        quiet: &[("a.cc", "int DISABLED_COLOR = 3;"), ("a_test.cc", "  if (!net) {\n    GTEST_SKIP();")],
        ..DISABLED
    },
    Check {
        name: "dart-skip",
        files: DART,
        place: Place::Tests,
        needles: &["skip"],
        pattern: r"(?:^\s*@Skip\(|\bskip:\s*(?:true|['\x22]))",
        fires: &[("test/a_test.dart", "  }, skip: true);"), ("test/a_test.dart", "@Skip('later')")],
        quiet: &[("test/a_test.dart", "}, skip: !isLinux);"), ("lib/a.dart", "list(skip: true)")],
        ..DISABLED
    },
    Check {
        name: "gherkin-skip",
        files: &["feature"],
        needles: &["@"],
        pattern: r"^\s*(?:@\S+\s+)*@(?:skip|ignore|wip)\b",
        fires: &[("a.feature", "  @skip"), ("a.feature", "@smoke @ignore")],
        quiet: &[("a.feature", "  @smoke"), ("a.feature", "# @skip")],
        ..DISABLED
    },
    Check {
        name: "pipeline-may-fail",
        files: &["yml", "yaml"],
        place: Place::Pipelines,
        needles: &["allow_failure", "continue-on-error"],
        pattern: r"^\s*(?:-\s+)?(?:allow_failure|continue-on-error):\s*true\b",
        severity: Severity::Low,
        category: Category::Testing,
        body: "A job may now fail without anyone being stopped. What it checks is no longer a condition for merging. If that is \
               meant, say so beside it; if only some failures are fine, name their exit codes.",
        fires: &[
            (".gitlab-ci.yml", "  allow_failure: true"),
            (".github/workflows/a.yml", "        continue-on-error: true"),
        ],
        quiet: &[
            (".gitlab-ci.yml", "  allow_failure: false"),
            ("config/a.yml", "allow_failure: true"),
            (".gitlab-ci.yml", "# allow_failure: true"),
        ],
        ..DISABLED
    },
];

const DISABLED: Check = Check {
    family: Family::DisabledTest,
    severity: Severity::Medium,
    category: Category::Testing,
    fix: Fix::None,
    body: "This test is switched off. It can no longer fail, so what it guarded may break unseen. Fix the test, or delete \
           it and say in the merge request why it is no longer needed; if it must be off for now, name the ticket that \
           turns it on again.",
    ..BASE
};

const FOCUSED: Check = Check {
    family: Family::DisabledTest,
    severity: Severity::High,
    category: Category::Testing,
    body: "A focused test switches off all others. While it is here the rest of the suite does not run, and the pipeline is \
           green whatever they would have said. Remove the focus.",
    ..BASE
};
