# Installs the tool nc3z of a release, for this user:
#     powershell -ExecutionPolicy Bypass -c "irm https://github.com/nc3z/nc3z/releases/latest/download/install.ps1 | iex"
# NC3Z_BIN is the directory of the program, NC3Z_RELEASE the address that the files are fetched from.
$ErrorActionPreference = 'Stop'
$version = '0.1.0'
$release = if ($env:NC3Z_RELEASE) { $env:NC3Z_RELEASE } else { "https://github.com/nc3z/nc3z/releases/download/v$version" }
$bin = if ($env:NC3Z_BIN) { $env:NC3Z_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\nc3z' }
$name = "nc3z-$version-x86_64-pc-windows-msvc"
$work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
try {
    foreach ($file in "$name.zip", 'SHA256SUMS') {
        Invoke-WebRequest "$release/$file" -OutFile (Join-Path $work $file) -UseBasicParsing
    }
    $line = Get-Content (Join-Path $work 'SHA256SUMS') | Where-Object { $_ -match "^([0-9a-f]{64}) [ *]$([regex]::Escape("$name.zip"))$" }
    $expected = ($line -split ' ')[0]
    $found = (Get-FileHash (Join-Path $work "$name.zip") -Algorithm SHA256).Hash.ToLower()
    if ($expected -ne $found) { throw "$name.zip has SHA-256 $found, expected $expected; nothing was installed" }
    Expand-Archive (Join-Path $work "$name.zip") $work
    New-Item -ItemType Directory $bin -Force | Out-Null
    Copy-Item (Join-Path $work "$name\nc3z.exe") $bin -Force
    & (Join-Path $bin 'nc3z.exe') --version
    if (($env:PATH -split ';') -notcontains $bin) { Write-Output "$bin is not in PATH; add it in the settings of the environment" }
} finally {
    Remove-Item $work -Recurse -Force
}
