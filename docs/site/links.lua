-- SPDX-License-Identifier: GPL-2.0-only
--
-- Changes the links of a document to the places of their targets in the site. The names of files
-- that are no documents are written to $SITE_SOURCES, and render copies them.

local file = os.getenv("SITE_FILE")

-- Returns the path from the top directory, without "." and "..".
local function resolve(path)
	local parts = {}
	local dir = file:match("^(.*/)") or ""
	for part in (dir .. path):gmatch("[^/]+") do
		if part == ".." then
			table.remove(parts)
		elseif part ~= "." then
			table.insert(parts, part)
		end
	end
	return table.concat(parts, "/")
end

local function is_directory(path)
	local f = io.open(path .. "/.")
	if f then
		f:close()
	end
	return f ~= nil
end

local function note(path)
	local f = assert(io.open(os.getenv("SITE_SOURCES"), "a"))
	f:write(path, "\n")
	f:close()
end

function Link(el)
	local path, fragment = el.target:match("^([^#]*)(.*)$")
	if path == "" or path:match("^%a+:") then
		return nil
	end
	path = path:gsub("/$", "")
	if path:match("%.md$") then
		path = path:gsub("README%.md$", "index.md"):gsub("%.md$", ".html")
	else
		local target = resolve(path)
		note(target)
		if is_directory(target) then
			path = path .. "/index.html"
		elseif not path:match("%.svg$") and not path:match("%.json$") then
			path = path .. ".html"
		end
	end
	el.target = path .. fragment
	return el
end

function Image(el)
	if not el.src:match("^%a+:") then
		note(resolve(el.src))
	end
	return nil
end
