-- The field `l`: "<until> <holder>", empty when free. It saves work; the version keeps us correct.
local function lease_of(text)
  if not text or text == '' then
    return 0, ''
  end
  local ends, holder = string.match(text, '^(%d+) (.*)$')
  return tonumber(ends), holder
end
