"""The runner for authors' Python files that import another system's package.

The file gets its own `import`: modules of that package are looked up in a table of namespaces and in the
file's folder; all other imports work as usual. Nothing is added to `sys.modules` under a foreign name and
nothing is patched. So the names exist only for that file, while it loads and later inside its functions, and
two files never see each other's modules.
"""

from __future__ import annotations
import __future__

import builtins
import sys
import traceback
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from assay.core.errors import (
    AuthorError,
    Problem,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.origin import Origin
from assay.dialects.shared.absl_flags import remove_flags

Namespaces = Mapping[str, Mapping[str, Any]]
_PACKAGE_FILE = "__init__"
"""The file that makes its folder a package."""

_PACKAGE_NAMES = {
    "Levenshtein": "levenshtein",
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
}
"""The pip names of packages that are imported under another name."""


class AuthorModules:
    """The modules that one author's file can import."""

    def __init__(
        self,
        package: str,
        namespaces: Namespaces,
        *,
        folder: Path | None = None,
        ambient: Mapping[str, Any] | None = None,
        extendable: Collection[str] = (),
        aliases: Mapping[str, str] | None = None,
        code: str,
    ) -> None:
        """Store the dotted package that the file is written for, and the contents of its modules.

        `folder`: its files can be imported as modules of the package. `ambient`: names that are available
        without an import, because documented examples omit imports. `extendable`: modules that a file of the
        same name in the folder extends. `aliases`: other names of modules, because files name a package in
        full or in part. `code`: the error code for a file that does not load.
        """
        self._package = package
        self._aliases = aliases or {}
        self._roots = {name.partition(".")[0] for name in (package, *namespaces, *self._aliases)}
        self._folder = folder
        self._extendable = extendable
        self._code = code
        self._modules: dict[str, ModuleType] = {}
        self.files: list[Path] = []
        """The files that were run: the author's file and those it imports."""
        self._imports: dict[str, set[str]] = {}
        """For each file, the files of the folder that it imports."""
        self._builtins = {**vars(builtins), **(ambient or {}), "__import__": self._import}
        for name, namespace in namespaces.items():
            vars(self._module(name)).update(namespace)
        self._module(package)
        for alias, name in self._aliases.items():
            self._place(alias, self._module(name))

    def run(self, path: Path) -> ModuleType:
        """Run a file as a module of the package; raise AuthorError with the line of any failure.

        A file that another file has imported is not run again, because that would create its classes twice.
        """
        name = f"{self._package}.{path.stem}"
        return self._modules[name] if name in self._modules and path in self.files else self._run(name, path)

    def _run(self, name: str, path: Path) -> ModuleType:
        is_new = name not in self._modules
        module = self._module(name)
        self.files.append(path)
        # A name that is unique in this process, because pickling, dataclasses and tracebacks look it up. It
        # has no dots, because there is no parent package to look up.
        own_name = f"assay_author_{id(self):x}_{name.replace('.', '_')}"
        vars(module).update(
            __name__=own_name,
            __file__=str(path),
            __package__=_find_package(name, path),
            __builtins__=self._builtins,
        )
        sys.modules[own_name] = module
        try:
            exec(self._compile_file(path), vars(module))  # noqa: S102 (the person's own program, named by them)
        except BaseException as error:
            del sys.modules[own_name]
            self.files.remove(path)
            if is_new:
                self._forget(name)
            if isinstance(error, AuthorError):
                raise
            reraise_interrupt(error)
            raise AuthorError(self._problem(error, path)) from error
        finally:
            remove_flags(own_name)
        return module

    def _forget(self, name: str) -> None:
        """Remove a module that failed to load, so that it is not used half-initialised."""
        del self._modules[name]
        parent, _, last = name.rpartition(".")
        vars(self._module(parent)).pop(last, None)

    def _compile_file(self, path: Path) -> CodeType:
        # Annotations may use names that only a type checker imports, or text that is not a name.
        flags = __future__.annotations.compiler_flag
        code: CodeType = compile(path.read_bytes(), str(path), "exec", flags=flags, dont_inherit=True)
        return code

    def _problem(self, error: BaseException, path: Path) -> Problem:
        where = find_error_line(error, path)
        if isinstance(error, OSError) and not path.is_file():
            return Problem(self._code, "there is no such file", "check the path", where)
        if isinstance(error, SyntaxError) and error.filename == str(path):
            where = Origin(str(path), line=error.lineno)
            return Problem(self._code, f"not valid Python: {error.msg}", "correct the file", where)
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            if package in self._roots:
                return Problem(self._code, str(error), "correct the import", where)
            if self._find_module_file(f"{self._package}.{package}") is not None:
                what = f"it imports {error.name!r}, a file in the same folder, as if it were installed"
                return Problem(self._code, what, f"write from .{package} import ...", where)
            return Problem(
                self._code,
                f"it imports {error.name!r}, which is not installed",
                "install the package that provides it, usually: "
                f"pip install {_PACKAGE_NAMES.get(package, package)}",
                where,
            )
        if isinstance(error, ImportError) and error.name and error.name.partition(".")[0] in self._roots:
            return Problem(self._code, str(error), "correct the import", where)
        return Problem(self._code, f"it raised {describe_exception(error)}", "correct the file", where)

    def _module(self, name: str) -> ModuleType:
        """Return a module of the package; create it and its parents if needed."""
        module = self._modules.get(name)
        if module is None:
            module = ModuleType(name)
            module.__dict__["__path__"] = []
            self._place(name, module)
        return module

    def _place(self, name: str, module: ModuleType) -> None:
        self._modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(self._module(parent), last, module)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Replace `__import__` inside the file."""
        root = name.partition(".")[0]
        if level == 0 and root not in self._roots:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        full = self._resolve_name(name, level, globals)
        module = self._find_module(full)
        self._note(globals, module)
        if not fromlist:
            return module if level else self._modules[root]
        for wanted in fromlist:
            if wanted != "*" and not hasattr(module, wanted) and not self._try_add_name(full, wanted):
                submodule = f"{full}.{wanted}"
                if submodule in self._modules or self._find_module_file(submodule) is not None:
                    self._note(globals, self._find_module(submodule))
                else:
                    known = [known for known in vars(module) if not known.startswith("__")]
                    raise ImportError(
                        f"cannot import {wanted!r} from {full!r}{suggest_name(wanted, known)}; "
                        f"it has {listing(sorted(known)) or 'nothing'}",
                        name=full,
                    )
        # A file in the folder may have extended it in the meantime.
        self._note(globals, module)
        return module

    def _note(self, importing: Mapping[str, Any] | None, module: ModuleType) -> None:
        """Record which file imports which."""
        file, imported = (importing or {}).get("__file__"), vars(module).get("__file__")
        if file is not None and imported is not None:
            self._imports.setdefault(file, set()).add(imported)

    def find_imported_files(self, path: Path) -> list[Path]:
        """Return a file and the files of its folder that it imports, directly or indirectly."""
        found, left = set[str](), {str(path)}
        while left:
            found |= left
            left = set[str]().union(*(self._imports.get(file, ()) for file in left)) - found
        return sorted(map(Path, found))

    def _try_add_name(self, name: str, wanted: str) -> bool:
        """Whether an author's file, such as `utils.py`, adds a name to a module of the table."""
        beside = self._find_module_file(name) if name in self._extendable else None
        if beside is None or beside in self.files:
            return False
        return hasattr(self._run(name, beside), wanted)

    def _resolve_name(self, name: str, level: int, importing: Mapping[str, Any] | None = None) -> str:
        """Return the full name of a module; leading dots are relative to the importing file's package."""
        if level == 0:
            found = (alias for alias in self._aliases if name == alias or name.startswith(f"{alias}."))
            alias = next(found, None)
            return name if alias is None else self._aliases[alias] + name.removeprefix(alias)
        parents = str((importing or {}).get("__package__") or self._package).split(".")
        if level > len(parents):
            raise ImportError("attempted relative import beyond top-level package")
        base = ".".join(parents[: len(parents) - level + 1])
        return f"{base}.{name}" if name else base

    def load(self, name: str) -> ModuleType:
        """Return a module of the package by its full name: from the table, or a file of the folder."""
        return self._find_module(name)

    def _find_module(self, name: str) -> ModuleType:
        if name in self._modules:
            return self._modules[name]
        path = self._find_module_file(name)
        if path is not None:
            return self._run(name, path)
        inside = self._find_place(name)
        if inside is not None and inside.is_dir():
            return self._module(name)
        raise ModuleNotFoundError(
            f"there is no module {name!r}{suggest_name(name, self._modules)}, nor a file of that name here",
            name=name,
        )

    def _find_module_file(self, name: str) -> Path | None:
        """Return the file in the author's folder for a module of the package, or None."""
        place = self._find_place(name)
        if place is None:
            return None
        files = (place.with_name(f"{place.name}.py"), place / f"{_PACKAGE_FILE}.py")
        return next((file for file in files if file.is_file()), None)

    def _find_place(self, name: str) -> Path | None:
        """Return where the author's folder has a module of the package, without its suffix."""
        inside = name.removeprefix(f"{self._package}.")
        return None if self._folder is None or inside == name else self._folder.joinpath(*inside.split("."))


def _find_package(name: str, path: Path) -> str:
    """Return the package that relative imports in a file refer to; the file may be `__init__`."""
    parent, _, last = name.rpartition(".")
    return name if path.stem == _PACKAGE_FILE != last else parent


def find_error_line(error: BaseException, path: Path) -> Origin:
    """Return the innermost line of a file in an exception's traceback."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return Origin(str(path), line=lines[-1] if lines else None)
